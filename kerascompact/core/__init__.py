"""What all packages share: checks, bits, files, registration. TensorFlow is not imported early."""
