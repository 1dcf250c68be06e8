package io.rdmaraw.tcp.segment;

/**
 * Arithmetic on sequence numbers, modulo 2<sup>32</sup> (RFC 9293 section 3.4). Results are correct for distances
 * below 2<sup>31</sup>.
 */
public final class Sequence {
    private Sequence() {
    }

    public static boolean before(int a, int b) {
        return a - b < 0;
    }

    public static boolean beforeOrAt(int a, int b) {
        return a - b <= 0;
    }

    public static boolean after(int a, int b) {
        return a - b > 0;
    }

    public static boolean afterOrAt(int a, int b) {
        return a - b >= 0;
    }

    /** Returns whether low &lt;= value &lt;= high. */
    public static boolean between(int low, int value, int high) {
        return Integer.compareUnsigned(value - low, high - low) <= 0;
    }

    /** Returns whether low &lt;= value &lt; high. The result is false for an empty range. */
    public static boolean inside(int low, int value, int high) {
        return Integer.compareUnsigned(value - low, high - low) < 0;
    }

    public static int max(int a, int b) {
        return a - b >= 0 ? a : b;
    }

    public static int min(int a, int b) {
        return a - b <= 0 ? a : b;
    }
}
