"""What runs inside the measured environment: standard library, numpy, torch and triton, nothing else."""
