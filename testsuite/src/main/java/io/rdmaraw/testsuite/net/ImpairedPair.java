package io.rdmaraw.testsuite.net;

import io.rdmaraw.testsuite.sim.Impairment;

/**
 * Two interfaces with addresses of one subnet, as a {@link VethPair} has, and between them a {@link LinkEmulator} in a
 * namespace of its own: a path with a rate, a delay, loss and reordering.
 *
 * @param ours  the end that the code under test opens
 * @param peer  the other end, with the kernel or a stock program behind it
 * @param emulator what lies between; its "left" is {@code ours}
 */
public record ImpairedPair(VethEnd ours, VethEnd peer, LinkEmulator emulator) {
    static ImpairedPair create(NetworkNamespace ourNamespace, NetworkNamespace middleNamespace,
            NetworkNamespace peerNamespace, Impairment toPeer, Impairment toOurs, long seed) {
        int number = NetworkNames.nextNumber();
        int second = NetworkNames.nextNumber();
        Subnet subnet = Subnet.unused(number);
        VethPair left = VethPair.join(VethPair.end(ourNamespace, number, 'a', 1, subnet),
                VethPair.end(middleNamespace, number, 'b', 3, subnet));
        VethPair right = VethPair.join(VethPair.end(middleNamespace, second, 'a', 4, subnet),
                VethPair.end(peerNamespace, second, 'b', 2, subnet));
        left.ours().configure();
        left.peer().configureLink();
        right.ours().configureLink();
        right.peer().configure();
        // The emulator copies frames and loses some of them, so they must be those of a wire.
        left.up(Offloads.OFF);
        right.up(Offloads.OFF);
        left.ours().setNeighbour(right.peer());
        right.peer().setNeighbour(left.ours());
        LinkEmulator emulator = LinkEmulator.start(left.peer(), right.ours(), toPeer, toOurs, seed);
        return new ImpairedPair(left.ours(), right.peer(), emulator);
    }

    /** Stops the link emulator; the interfaces go with the link emulator's namespace. */
    void close() {
        emulator.close();
    }
}
