package io.rdmaraw.testsuite.sim;

/** The operations of an application on one connection of a {@link SimHost}. */
interface SimSocket {
    /** Queues bytes for sending. */
    void send(byte[] data);

    /** Returns the number of queued bytes that the peer has not acknowledged. */
    int queuedBytes();

    /**
     * Returns how many bytes may be queued before too much data is unsent. Once it is 0, it stays 0 until
     * {@link Events#notSentLow}.
     */
    default int notSentRoom() {
        return Integer.MAX_VALUE;
    }

    /** Reports that {@code bytes} bytes of the delivered data have been read. */
    void consumed(int bytes);

    /** Returns whether data sent before the connection is established may go with the SYN (RFC 7413). */
    default boolean sendsEarly() {
        return false;
    }

    /** Closes the sending direction. */
    void shutdownOutput();

    /** Closes the connection in both directions with a FIN. */
    void close();

    /** Resets the connection. */
    void abort();

    /** The events of a connection for its application. */
    interface Events {
        void connected(SimSocket socket);

        void data(byte[] bytes);

        void peerFinished();

        /** Reports that {@link #notSentRoom} is positive again. */
        default void notSentLow() {
        }

        /**
         * Reports the end of the connection as the last event. {@code orderly} is true if both directions ended
         * with a FIN.
         */
        void closed(boolean orderly, String reason);
    }
}
