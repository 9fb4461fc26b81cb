"""What every room shares: checks, bits, files, registration. Nothing here imports TensorFlow early."""
