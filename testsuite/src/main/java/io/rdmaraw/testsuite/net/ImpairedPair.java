package io.rdmaraw.testsuite.net;

import io.rdmaraw.testsuite.sim.Impairment;

/**
 * Two interfaces with addresses of one subnet, connected by a {@link LinkEmulator} in a separate namespace: a path with
 * a rate, a delay, loss and reordering.
 *
 * @param ours     the end that the code under test opens
 * @param peer     the other end, used by the kernel or a stock program
 * @param emulator the link emulator; its left side faces {@code ours}
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
        // The emulator copies and drops single frames, so segmentation and checksum offloads must be off.
        left.up(Offloads.OFF);
        right.up(Offloads.OFF);
        left.ours().setNeighbour(right.peer());
        right.peer().setNeighbour(left.ours());
        LinkEmulator emulator = LinkEmulator.start(left.peer(), right.ours(), toPeer, toOurs, seed);
        return new ImpairedPair(left.ours(), right.peer(), emulator);
    }

    /** Stops the link emulator. The interfaces are removed with the namespace of the link emulator. */
    void close() {
        emulator.close();
    }
}
