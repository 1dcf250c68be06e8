package io.rdmaraw.testsuite.net;

/** The offloads of both ends of a veth pair. */
public enum Offloads {
    /**
     * The kernel's defaults for a new pair, as in every container. TCP segments of up to 64 KiB are not split.
     * Checksums of UDP and TCP contain only the sum of the pseudo header, because no wire could damage them.
     */
    AS_MADE,
    /** Disabled at both ends: all frames look as on a cable. */
    OFF
}
