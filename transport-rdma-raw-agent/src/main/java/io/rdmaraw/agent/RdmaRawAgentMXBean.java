package io.rdmaraw.agent;

import java.util.List;

/** What the agent has done in this process; {@code io.rdmaraw:type=Agent} in JMX. */
public interface RdmaRawAgentMXBean {
    /** Returns what is carried by the device, and what by the kernel. */
    String getCarried();

    /** Returns {@code on}, {@code waits for Netty}, or why the program runs as without the agent. */
    String getState();

    /** Returns how many classes were rewritten. */
    int getRewrittenClasses();

    /** Returns the classes that were to be rewritten and were not, each with the reason. */
    List<String> getClassesLeftAsTheyAre();
}
