package io.rdmaraw.agent;

import java.util.List;

/** The state of the agent in this process, registered as {@code io.rdmaraw:type=Agent}. */
public interface RdmaRawAgentMXBean {
    /** Returns a description of the traffic that the device and the kernel serve. */
    String getServedTraffic();

    /** Returns {@code on}, {@code waits for Netty}, or the reason why the program runs without the transport. */
    String getState();

    /** Returns the number of rewritten classes. */
    int getRewrittenClasses();

    /** Returns the classes that could not be rewritten, each with the reason. */
    List<String> getClassesLeftAsTheyAre();
}
