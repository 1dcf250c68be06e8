package io.rdmaraw.tcp;

/**
 * Arithmetic on sequence numbers, modulo 2<sup>32</sup> (RFC 9293 section 3.4). Right while distances stay below 2^31.
 */
final class Sequence {
    private Sequence() {
    }

    static boolean before(int a, int b) {
        return a - b < 0;
    }

    static boolean beforeOrAt(int a, int b) {
        return a - b <= 0;
    }

    static boolean after(int a, int b) {
        return a - b > 0;
    }

    static boolean afterOrAt(int a, int b) {
        return a - b >= 0;
    }

    /** low &lt;= value &lt;= high. */
    static boolean between(int low, int value, int high) {
        return Integer.compareUnsigned(value - low, high - low) <= 0;
    }

    /** low &lt;= value &lt; high; false for an empty range. */
    static boolean inside(int low, int value, int high) {
        return Integer.compareUnsigned(value - low, high - low) < 0;
    }

    static int max(int a, int b) {
        return a - b >= 0 ? a : b;
    }

    static int min(int a, int b) {
        return a - b <= 0 ? a : b;
    }
}
