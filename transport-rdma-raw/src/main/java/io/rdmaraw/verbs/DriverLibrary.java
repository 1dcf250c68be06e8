package io.rdmaraw.verbs;

/**
 * What the library of one vendor's driver adds to verbs. An implementation is a service without state:
 * {@code module-info.java} provides it, and so does {@code META-INF/services} for the class path.
 */
public interface DriverLibrary {
    /** Returns whether the library drives this device. */
    boolean drives(VerbsContext context);

    /** Returns the name of the function that creates queue pairs, for messages. */
    String createQueuePairCall();

    /**
     * Creates a queue pair that receives what is sent by its own port, when its rules match.
     *
     * @param attributes address of a {@code struct ibv_qp_init_attr_ex}
     * @return the address of the {@code struct ibv_qp}, or the negated error number
     */
    long createSelfLoopingQueuePair(VerbsContext context, long attributes);
}
