package io.rdmaraw.verbs.objects;

/**
 * Calls of a vendor's driver library that verbs does not have. Implementations are stateless services, declared
 * both in {@code module-info.java} and in {@code META-INF/services}.
 */
public interface DriverLibrary {
    /** Returns whether this library drives the given device. */
    boolean drives(VerbsContext context);

    /** Returns the name of the C function that creates queue pairs, for error messages. */
    String createQueuePairCall();

    /**
     * Creates a queue pair that also receives matching frames sent by its own port. A ConnectX does not do so
     * by default.
     *
     * @param attributes address of a {@code struct ibv_qp_init_attr_ex}
     * @return the address of the {@code struct ibv_qp}, or the negated error number
     */
    long createSelfLoopbackQueuePair(VerbsContext context, long attributes);
}
