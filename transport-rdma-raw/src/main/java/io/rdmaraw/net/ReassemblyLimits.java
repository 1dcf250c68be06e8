package io.rdmaraw.net;

import java.util.concurrent.TimeUnit;

/**
 * What packets of which fragments are missing may cost.
 *
 * @param maxBytes memory for all of them, at least 131,072; the oldest make room ({@code net.ipv4.ipfrag_high_thresh}
 *     and {@code net.ipv6.ip6frag_high_thresh} of Linux, by default 4 MiB)
 * @param maxSourceBytes memory for those of one source address, 131,072 to {@code maxBytes}; its own oldest make room,
 *     so that one sender does not push out all others
 * @param timeoutNanosIpv4 how long a packet over IPv4 may take to become whole ({@code net.ipv4.ipfrag_time}, by
 *     default 30 s: identifications of 16 bits come again soon, RFC 4963)
 * @param timeoutNanosIpv6 how long one over IPv6 may take, counted from its first fragment that came (RFC 8200 section
 *     4.5: 60 s)
 */
public record ReassemblyLimits(int maxBytes, int maxSourceBytes, long timeoutNanosIpv4, long timeoutNanosIpv6) {
    /** Room for the longest packet there is, with all that is kept of it. */
    public static final int MIN_BYTES = 128 * 1024;
    /** The default. */
    public static final ReassemblyLimits DEFAULT = new ReassemblyLimits(4 * 1024 * 1024, 1024 * 1024,
            TimeUnit.SECONDS.toNanos(30), TimeUnit.SECONDS.toNanos(60));

    /** Checks the figures. */
    public ReassemblyLimits {
        if (maxSourceBytes < MIN_BYTES || maxBytes < maxSourceBytes) {
            throw new IllegalArgumentException("reassembly may take " + maxBytes + " bytes, of one source "
                    + maxSourceBytes + "; neither may be below " + MIN_BYTES + ", nor the second above the first");
        }
        if (timeoutNanosIpv4 <= 0 || timeoutNanosIpv6 <= 0) {
            throw new IllegalArgumentException("the time for reassembly must be above 0");
        }
    }
}
