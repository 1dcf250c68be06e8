package io.rdmaraw.microbench.tcp;

import io.rdmaraw.testsuite.sim.Packet;

/** The link on which hostile peers send. Addresses are the lower half of IPv4-mapped addresses. */
interface HostileWire {
    void send(Packet packet);

    /** Returns the address of the server. */
    long server();

    /** Returns the first port of the server. */
    int firstPort();
}
