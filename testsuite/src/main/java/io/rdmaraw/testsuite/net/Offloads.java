package io.rdmaraw.testsuite.net;

/** How much the ends of a veth pair leave to each other. */
public enum Offloads {
    /**
     * Whatever the kernel gives a new pair, as every container has it: TCP segments of up to 64 KiB come whole, and
     * checksums of UDP and TCP hold the sum of the pseudo header alone, as there is no wire to protect them from.
     */
    AS_MADE,
    /** Turned off at both ends: all frames are as they would be on a cable. */
    OFF
}
