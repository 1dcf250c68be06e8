package io.rdmaraw.net;

import java.util.concurrent.TimeUnit;

/**
 * Limits of the reassembly of fragmented packets.
 *
 * @param maxBytes         memory for all incomplete packets, at least 131,072; the oldest are discarded first
 *                         ({@code net.ipv4.ipfrag_high_thresh} and {@code net.ipv6.ip6frag_high_thresh} of
 *                         Linux; default 4 MiB)
 * @param maxSourceBytes   memory for the incomplete packets of one source address, 131,072 to {@code maxBytes};
 *                         its own oldest are discarded first, so that one sender cannot displace all others
 * @param timeoutNanosIpv4 maximum time until an IPv4 packet is complete ({@code net.ipv4.ipfrag_time}; default
 *                         30 s, because identifications of 16 bits repeat soon, RFC 4963)
 * @param timeoutNanosIpv6 maximum time until an IPv6 packet is complete, counted from the first fragment
 *                         received (RFC 8200 section 4.5: 60 s)
 */
public record ReassemblyLimits(int maxBytes, int maxSourceBytes, long timeoutNanosIpv4, long timeoutNanosIpv6) {
    /** Memory for the longest packet and its record. */
    public static final int MIN_BYTES = 128 * 1024;
    /** The default limits. */
    public static final ReassemblyLimits DEFAULT = new ReassemblyLimits(4 * 1024 * 1024, 1024 * 1024,
            TimeUnit.SECONDS.toNanos(30), TimeUnit.SECONDS.toNanos(60));

    /**
     * Validates the limits.
     *
     * @throws IllegalArgumentException if a limit is out of range
     */
    public ReassemblyLimits {
        if (maxSourceBytes < MIN_BYTES || maxBytes < maxSourceBytes) {
            throw new IllegalArgumentException("maxBytes is " + maxBytes + " and maxSourceBytes is " + maxSourceBytes
                    + "; both must be at least " + MIN_BYTES + ", and maxSourceBytes must not exceed maxBytes");
        }
        if (timeoutNanosIpv4 <= 0 || timeoutNanosIpv6 <= 0) {
            throw new IllegalArgumentException("the timeouts of reassembly must be positive");
        }
    }
}
