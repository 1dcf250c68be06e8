package io.rdmaraw.microbench.tcp;

import io.rdmaraw.testsuite.sim.Packet;

/** The link by which hostile peers send. Addresses are the lower half of IPv4-mapped ones. */
interface HostileWire {
    void send(Packet packet);

    /** The server's address. */
    long server();

    /** The first of its ports. */
    int firstPort();
}
