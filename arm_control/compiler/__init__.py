"""From the text of a law to machine code: tapes, straight programs, LLVM's code, kernels."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.compiler.builtin_calls import builtin_call, in_machine_code
    from arm_control.compiler.c_expressions import number
    from arm_control.compiler.c_procedure import c_parts
    from arm_control.compiler.call_forms import (
        INTO,
        ArrayArgument,
        ArrayResult,
        BoundResult,
        CallForm,
        ItemsArgument,
        KernelCall,
        NumberArgument,
        NumberResult,
        ObjectArgument,
        Result,
        TupleArgument,
        TupleResult,
    )
    from arm_control.compiler.compiled_law import Samples, check_kernel, compile_law, plain_compiler
    from arm_control.compiler.compiled_procedure import (
        BoundProcedure,
        Callback,
        callback_of,
        compile_procedure,
        direct_call,
        source_digest,
    )
    from arm_control.compiler.kernels import (
        Kernel,
        LoopKernel,
        OwnWork,
        python_function,
        python_kernel,
        split,
    )
    from arm_control.compiler.law import NEAR, Fold, Law, Loop
    from arm_control.compiler.llvm_code import PROCESSORS, object_file, scalar_code
    from arm_control.compiler.llvm_compiler import Library, compile_code
    from arm_control.compiler.llvm_kernels import LlvmCompiler
    from arm_control.compiler.llvm_loops import loop_code
    from arm_control.compiler.procedures import (
        CFunction,
        Floats,
        Ints,
        Procedure,
        Rows,
        RunsKernel,
        RunsLoop,
        add_atomic,
        address_of,
        fence_acquire,
        fence_release,
        float_at,
        int32_at,
        int_at,
        load_acquire,
        load_relaxed,
        nearest,
        procedure,
        put_float,
        put_int,
        same_bits,
        store_relaxed,
        store_release,
    )
    from arm_control.compiler.program import Function, Program
    from arm_control.compiler.tape import Tape
    from arm_control.compiler.web_assembly import PlacedProgram, machine_module, web_module
else:
    __getattr__, __dir__, __all__ = face(__name__)
