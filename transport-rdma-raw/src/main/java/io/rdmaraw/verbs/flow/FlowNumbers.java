package io.rdmaraw.verbs.flow;

/** Parses and formats the numbers in the text form of rules: decimal, or hexadecimal with the prefix 0x. */
final class FlowNumbers {
    private FlowNumbers() {
    }

    static int parse(String text, String what) {
        try {
            boolean hex = text.startsWith("0x") || text.startsWith("0X");
            return hex ? Integer.parseUnsignedInt(text, 2, text.length(), 16) : Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(what + " must be a number, not \"" + text + "\"", e);
        }
    }

    /** Returns a number in hexadecimal with the prefix 0x. */
    static String hex(int value) {
        return "0x" + Integer.toHexString(value);
    }
}
