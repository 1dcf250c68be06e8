package io.rdmaraw.testsuite.sim;

/** One end of the simulated path: a TCP implementation that is driven from outside and owns no clock. */
interface SimHost {
    /** An IP packet has arrived; it may be damaged. */
    void receive(byte[] packet, long nowNanos);

    /** A router could not pass on {@code quoted}, a packet of this host, over a hop of {@code mtuBytes}. */
    void packetTooBig(byte[] quoted, int mtuBytes, long nowNanos);

    /** Returns the next packet to send, or null. */
    byte[] poll(long nowNanos);

    /** Returns when {@link #advance} is due, or {@link Long#MAX_VALUE}. */
    long nextDeadlineNanos();

    /** Does what time has made due. */
    void advance(long nowNanos);

    /** Begins to accept connections. */
    void listen(int port);

    /** Opens a connection from a given port. */
    SimSocket connect(int localPort, int remotePort, SimSocket.Events events, long nowNanos);

    /** Sets who is told about accepted connections. */
    void acceptor(Acceptor acceptor);

    /** Checks what must hold between any two events. */
    void checkInvariants(long nowNanos);

    /** Checks what must hold when all is over: nothing is kept. */
    void checkEmpty();

    /** Gives an accepted connection its events. */
    @FunctionalInterface
    interface Acceptor {
        SimSocket.Events accepted(SimSocket socket, int remotePort);
    }
}
