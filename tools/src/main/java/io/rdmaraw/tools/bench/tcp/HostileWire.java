package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.testsuite.sim.Packet;

/** What hostile peers send by. Addresses are IPv4-mapped, the lower half. */
interface HostileWire {
    void send(Packet packet);

    /** The server's address. */
    long server();

    /** The first of its ports. */
    int firstPort();
}
