"""From the text of a law to machine code: tapes, straight programs, LLVM's code, kernels."""
