"""Machine code for this processor from LLVM's intermediate language, by llvmlite; no C compiler is needed."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import llvmlite
import llvmlite.binding as llvm

_LOCK = Lock()


def target_machine() -> Any:
    """The processor this runs on, with all it can do."""
    cpu, features = _host()
    return llvm.Target.from_default_triple().create_target_machine(opt=1, cpu=cpu, features=features)


@cache
def _host() -> tuple[str, str]:
    """Return LLVM's names of the processor and of what it can do."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def processor() -> str:
    """Return a text that is the same where machine code may be shared."""
    cpu, features = _host()
    return f"llvmlite {llvmlite.__version__}, {llvm.get_process_triple()}, {cpu}, {features}"


@cache
def lanes() -> int:
    """How many numbers fit in a vector register: 8, 4 or 2."""
    features = llvm.get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx2") else 2


def compile_code(code: str, is_draft: bool = False) -> bytes:
    """Return the object file of the intermediate code of a law.

    No optimiser runs but for the inlining that the code asks for, and no scheduler: a tape has nothing to be
    found twice, its order is good, and longer compilation did not make it faster. For a draft
    (:mod:`arm_control.compiler.drafts`) registers are chosen the quick way.
    """
    return _emit_laws(llvm.parse_assembly(code), target_machine(), is_draft)


def compile_for(code: str, triple: str, cpu: str) -> bytes:
    """The same for a linker, and for a processor by LLVM's names: position independent, near to what it calls."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=cpu, opt=1, reloc="pic", codemodel="small")
    return _emit_laws(llvm.parse_assembly(f'target triple = "{triple}"\n{code}'), machine)


def _emit_laws(module: Any, machine: Any, is_draft: bool = False) -> bytes:
    _inlined(module, machine)
    with _options("enable-misched", *(["optimize-regalloc"] if is_draft else [])):
        return bytes(machine.emit_object(module))


def _inlined(module: Any, machine: Any) -> Any:
    module.verify()
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return module


@contextmanager
def _options(*switched_off: str) -> Iterator[None]:
    """Switch options of LLVM off and on again: they are those of the whole process."""
    with _LOCK:
        for name in switched_off:
            llvm.set_option("arm_control", f"-{name}=false")
        try:
            yield
        finally:
            for name in switched_off:
                llvm.set_option("arm_control", f"-{name}=true")


def compile_procedures(code: str) -> bytes:
    """Return the object file of the intermediate code of procedures, whose loops and names need the optimiser."""
    machine = target_machine()
    return bytes(machine.emit_object(_optimised(llvm.parse_assembly(code), machine)))


def compile_linked(laws: str, procedures: Sequence[str], triple: str) -> bytes:
    """Return one object file of the intermediate code of laws and of procedures.

    Registers are chosen the quick way: a hundredth of the time; a browser, which has none of LLVM's, chooses again.
    ``triple`` is LLVM's name of the processor; empty: this one.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple or llvm.get_process_triple()).create_target_machine(opt=0)
    head = f'target triple = "{triple or llvm.get_process_triple()}"\n'
    module = _inlined(llvm.parse_assembly(head + laws), machine)
    for code in procedures:
        module.link_in(_optimised(llvm.parse_assembly(head + code), machine))
    return bytes(machine.emit_object(module))


def _optimised(module: Any, machine: Any) -> Any:
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


class MethodDefinition(ctypes.Structure):
    """Python's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL, _METH_KEYWORDS = 0x0080, 0x0002


@cache
def _definition(name: bytes, address: int, doc: bytes | None) -> MethodDefinition:
    """Return a definition for ever: Python reads it even while it clears the function away when the process ends."""
    definition = MethodDefinition(name, address, _METH_FASTCALL | _METH_KEYWORDS, doc)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return definition


class Library:
    """An object file, loaded: its functions keep it in memory."""

    def __init__(self, data: bytes) -> None:
        _offer_symbols()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def function(self, name: str, *arguments: Any, keeps_lock: bool = False) -> Any:
        """Return a function that returns a double; Python's lock is held while it runs, or is not."""
        kind = ctypes.PYFUNCTYPE if keeps_lock else ctypes.CFUNCTYPE
        function: Any = kind(ctypes.c_double, *arguments)(self._engine.get_function_address(name))
        function.library = self
        return function

    def address(self, name: str) -> int:
        """Return the address of a function."""
        return int(self._engine.get_function_address(name))

    def variable(self, name: str) -> int:
        """Return the address of a global variable."""
        return int(self._engine.get_global_value_address(name))

    def builtin(self, name: str, bound: object, doc: str | None) -> Callable[..., Any]:
        """Return a function as one that is built into Python.

        Parameters
        ----------
        bound : object
            Its first argument; it must keep this library.
        doc : str or None
            Documentation; it may begin with a signature.
        """
        definition = _definition(name.encode(), self.address(name), None if doc is None else doc.encode())
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        function: Callable[..., Any] = make(ctypes.addressof(definition), bound, None)
        return function


@lru_cache(maxsize=256)
def shared_library(data: bytes) -> Library:
    """Return an object file that is loaded once in a process."""
    return Library(data)


@cache
def _offer_symbols() -> None:
    """Tell LLVM where the functions are that the code calls: one that it cannot find ends the process."""
    mathematics = ctypes.CDLL(ctypes.util.find_library("m"))
    for name in ("sin", "cos", "atan2"):
        llvm.add_symbol(name, ctypes.cast(getattr(mathematics, name), ctypes.c_void_p).value)
