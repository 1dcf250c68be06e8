package io.rdmaraw.host.userspace;

/** Sends the frames of a {@link UserspaceHostEngine}. */
public interface ControlOutput {
    /** Returns the address of memory for one frame of the link's MTU; 0 if no frame can be sent now. */
    long allocate();

    /** Sends the frame in the memory last allocated. Its length may be below the minimum of Ethernet. */
    void send(int lengthBytes);
}
