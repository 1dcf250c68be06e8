package io.rdmaraw.verbs.flow;

/** Numbers in the text form of rules: decimal, or hexadecimal after 0x. */
public final class FlowNumbers {
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

    public static String hex(int value) {
        return "0x" + Integer.toHexString(value);
    }
}
