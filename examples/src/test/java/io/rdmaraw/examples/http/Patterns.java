package io.rdmaraw.examples.http;

/** Expected contents of the servers' pages. */
final class Patterns {
    private static final int PERIOD = 251;

    private Patterns() {
    }

    /** Returns the content of {@code /bytes/N}. */
    static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i % PERIOD);
        }
        return bytes;
    }
}
