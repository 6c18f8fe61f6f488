"""A linear-chain CRF on our own kernels."""
