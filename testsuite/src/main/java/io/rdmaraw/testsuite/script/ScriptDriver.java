package io.rdmaraw.testsuite.script;

import io.rdmaraw.testsuite.sim.Packet;

/** An endpoint that scripts are played against. One thread. */
interface ScriptDriver extends AutoCloseable {
    int OUR_PORT = 7000;
    int PEER_PORT = 9000;

    /** Address of the endpoint, IPv4 in its mapped form. */
    long ourAddress();

    /** Address that the script speaks from. */
    long peerAddress();

    void listen(boolean readsAtOnce);

    void connect(boolean readsAtOnce);

    /** An IP packet reaches the endpoint, damaged or sound. */
    void inject(byte[] packet);

    /** A message about {@code quoted}, a packet of the endpoint, reaches it. */
    void icmp(IcmpMessage message, Packet quoted, int mtuBytes);

    /** Returns the next packet of the endpoint, or null when none came in so long. */
    Packet await(long timeoutMillis);

    void send(int bytes);

    void read(int bytes);

    /** Returns how many bytes have reached the user in all. */
    int delivered();

    boolean sawEnd();

    boolean sawReset();

    /** Probes after a second of silence, then every second. */
    void keepAlive();

    /** Small segments wait while others are outstanding. */
    void nagle();

    void shutdownOutput();

    void closeSocket();

    void abort();

    @Override
    void close();
}
