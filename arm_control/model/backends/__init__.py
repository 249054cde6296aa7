"""What makes kernels: machine code by LLVM, Python functions, Pinocchio."""
