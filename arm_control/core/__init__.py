"""What every other folder stands on: parameters, the package's files, the cache, progress bars."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.core.cache import Cache, default_directory
    from arm_control.core.files import (
        WILDCARDS,
        as_mapping,
        file_names,
        file_parameters,
        module_names,
        node_names,
        parse_yaml,
        read_yaml,
        require_writable_folder,
        robot_names,
        ros_parameters,
        share_path,
        urdf_path,
        write_text,
        yaml_content,
        yaml_document,
        yaml_path,
        yaml_value,
    )
    from arm_control.core.parameters import (
        Parameters,
        SavedParameter,
        Spec,
        group,
        parameter,
        parameter_text,
        refuse_unknown,
        yaml_text,
    )
    from arm_control.core.private_files import UnsafeFile, open_directory, read_secret
    from arm_control.core.process import PARENT, die_with_parent, exclusive, printable, progress_bar
    from arm_control.core.time import BEGINNING_NS, LARGEST_STAMP, NANOSECONDS
else:
    __getattr__, __dir__, __all__ = face(__name__)
