"""The messages and stubs of proto/millrace/v1, made when the package is built."""
