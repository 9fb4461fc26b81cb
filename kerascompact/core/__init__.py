"""What every room shares: checks, bits, files, registration. TensorFlow is not imported early."""
