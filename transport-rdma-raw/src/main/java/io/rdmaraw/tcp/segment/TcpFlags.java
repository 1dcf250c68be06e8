package io.rdmaraw.tcp.segment;

/** Control bits of a TCP header (RFC 9293 section 3.1): the 14th byte, with the last bit of the 13th as bit 8. */
public final class TcpFlags {
    public static final int FIN = 0x01;
    public static final int SYN = 0x02;
    public static final int RST = 0x04;
    public static final int PSH = 0x08;
    public static final int ACK = 0x10;
    public static final int URG = 0x20;
    /** ECN-Echo (RFC 3168). */
    public static final int ECE = 0x40;
    /** Congestion Window Reduced (RFC 3168). */
    public static final int CWR = 0x80;
    /** Accurate ECN (RFC 9768), formerly the nonce sum (RFC 3540); the last bit of the 13th byte. */
    public static final int AE = 0x100;

    private TcpFlags() {
    }

    /** Returns the names of the bits that are set, such as {@code SYN|ACK}, or {@code -}. For logs and tests. */
    public static String toString(int flags) {
        StringBuilder text = new StringBuilder();
        String[] names = {"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"};
        for (int bit = 0; bit < names.length; bit++) {
            if ((flags & 1 << bit) != 0) {
                text.append(text.isEmpty() ? "" : "|").append(names[bit]);
            }
        }
        return text.isEmpty() ? "-" : text.toString();
    }
}
