"""The command line: find the wrong labels of a table or of a folder of images without writing a program."""
