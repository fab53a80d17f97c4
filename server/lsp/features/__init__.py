"""One module a protocol feature, each a function of DocumentContext."""
