package io.rdmaraw.testsuite.sim;

/** An attacking peer; {@link AttackScenario} simulates the host and the network for it. */
interface HostilePeer {
    void play(AttackScenario attack);

    /**
     * Returns whether the peer continues its attack while the host closes. The host's closed connections must end
     * nevertheless.
     */
    default boolean isEndless() {
        return false;
    }
}
