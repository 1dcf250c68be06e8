package io.rdmaraw.testsuite.sim;

/** A peer that means harm; {@link Siege} is the world it acts in. */
interface HostilePeer {
    void play(Siege siege);

    /** Closed connections of the host must come to an end though the peer goes on with what it does. */
    default boolean goesOn() {
        return false;
    }
}
