package io.rdmaraw.testsuite.sim;

/** One end of the simulated path: a TCP implementation without its own clock, which the simulation drives. */
interface SimHost {
    /** Processes an IP packet, which may be damaged. */
    void receive(byte[] packet, long nowNanos);

    /** Reports that a router could not forward {@code quoted}, a packet of this host, over a hop with this MTU. */
    void packetTooBig(byte[] quoted, int mtuBytes, long nowNanos);

    /** Returns the next packet to send, or null. */
    byte[] poll(long nowNanos);

    /** Returns the time at which {@link #advance} is due, or {@link Long#MAX_VALUE}. */
    long nextDeadlineNanos();

    /** Runs the timers that have expired. */
    void advance(long nowNanos);

    /** Starts to accept connections. */
    void listen(int port);

    /** Opens a connection from the given port. */
    SimSocket connect(int localPort, int remotePort, SimSocket.Events events, long nowNanos);

    /** Sets the callback for accepted connections. */
    void acceptor(Acceptor acceptor);

    /** Checks the conditions that must hold between any two events. */
    void checkInvariants(long nowNanos);

    /** Checks at the end of a run that the host retains nothing. */
    void checkEmpty();

    /** Provides the event handler of an accepted connection. */
    @FunctionalInterface
    interface Acceptor {
        SimSocket.Events accepted(SimSocket socket, int remotePort);
    }
}
