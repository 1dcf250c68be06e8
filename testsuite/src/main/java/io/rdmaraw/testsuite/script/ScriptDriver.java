package io.rdmaraw.testsuite.script;

import io.rdmaraw.testsuite.sim.Packet;

/** An endpoint to play scripts against. Used by one thread. */
interface ScriptDriver extends AutoCloseable {
    int OUR_PORT = 7000;
    int PEER_PORT = 9000;

    /** Returns the endpoint's address; IPv4 in mapped form. */
    long ourAddress();

    /** Returns the peer's address; IPv4 in mapped form. */
    long peerAddress();

    void listen(boolean readsAtOnce);

    void connect(boolean readsAtOnce);

    /** Passes an IP packet, which may be damaged, to the endpoint. */
    void inject(byte[] packet);

    /** Passes an ICMP message about {@code quoted}, a packet of the endpoint, to the endpoint. */
    void icmp(IcmpMessage message, Packet quoted, int mtuBytes);

    /** Returns the endpoint's next packet, or null if none arrives within the timeout. */
    Packet await(long timeoutMillis);

    void send(int bytes);

    void read(int bytes);

    /** Returns the total number of bytes delivered to the user. */
    int delivered();

    boolean sawEnd();

    boolean sawReset();

    /** Enables keepalive probes after a second of silence and every second from then on. */
    void keepAlive();

    /** Enables Nagle's algorithm. */
    void nagle();

    void shutdownOutput();

    void closeSocket();

    void abort();

    @Override
    void close();
}
