package io.rdmaraw.takeover;

/** Is notified about the successor of this process. Called on a thread of the takeover; methods must not block. */
public interface TakeoverListener {
    /** Reports that the successor accepts all new connections from now on. */
    void handedOver(long successorPid);

    /** Reports that the successor has ended before this process. This process accepts connections again. */
    void resumed();
}
