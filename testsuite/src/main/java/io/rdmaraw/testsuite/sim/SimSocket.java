package io.rdmaraw.testsuite.sim;

/** What an application does with one connection of a {@link SimHost}. */
interface SimSocket {
    /** Queues bytes. */
    void send(byte[] data);

    /** Returns how many queued bytes the peer has not acknowledged. */
    int queuedBytes();

    /** Returns how much may be queued now by what is not sent yet; once it is 0, until the socket tells otherwise. */
    default int notSentRoom() {
        return Integer.MAX_VALUE;
    }

    /** Tells that {@code bytes} of what was delivered have been read. */
    void consumed(int bytes);

    /** Whether what is sent before the connection is open may go with the SYN (RFC 7413). */
    default boolean sendsEarly() {
        return false;
    }

    /** Ends the sending direction. */
    void shutdownOutput();

    /** Closes both directions in order. */
    void close();

    /** Resets the connection. */
    void abort();

    /** What a connection tells its application. */
    interface Events {
        void connected(SimSocket socket);

        void data(byte[] bytes);

        void peerFinished();

        /** There is {@link #notSentRoom} again. */
        default void notSentLow() {
        }

        /** The last event. {@code orderly} says that both directions ended with FIN. */
        void closed(boolean orderly, String reason);
    }
}
