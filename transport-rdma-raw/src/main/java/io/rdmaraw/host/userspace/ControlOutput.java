package io.rdmaraw.host.userspace;

/** Where an {@link UserspaceHost} writes the frames that it sends. */
public interface ControlOutput {
    /** Returns the address of memory for one frame of the link's MTU, or 0 when none can be sent now. */
    long allocate();

    /** Sends the frame that was written to the memory last allocated; its length may be below Ethernet's least. */
    void send(int lengthBytes);
}
