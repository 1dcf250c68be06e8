package io.rdmaraw.agent;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import javax.management.JMException;
import javax.management.ObjectName;

/**
 * What the agent tells its user: on the error stream, since a program's log is not there yet when the agent comes, and
 * in JMX. Any thread.
 */
final class AgentReport implements RdmaRawAgentMXBean {
    private static final String PREFIX = "rdma-raw agent: ";
    private static final int MOST_KEPT = 200;

    private final AgentOptions options;
    private final AtomicInteger rewritten = new AtomicInteger();
    private final List<String> left = new ArrayList<>();
    private volatile String state = "waits for Netty";
    private boolean isManaged;

    AgentReport(AgentOptions options) {
        this.options = options;
    }

    private static void print(String line) {
        System.err.println(PREFIX + line);
    }

    void started() {
        print(options.described());
    }

    void rewritten(String className) {
        rewritten.incrementAndGet();
    }

    /** A class uses a transport of Netty's and could not be rewritten. */
    void leftAsItIs(String className, String reason) {
        String line = className + ": " + reason;
        synchronized (left) {
            if (left.size() >= MOST_KEPT) {
                return;
            }
            left.add(line);
        }
        if (state.startsWith("on")) {
            print("left as it is: " + line);
        }
    }

    /** The program's first channel or group was made by the transport. */
    synchronized void on(String netty) {
        state = "on";
        print("on, with " + netty + "; " + rewritten + " classes rewritten so far, " + left.size()
                + " left as they are");
        getClassesLeftAsTheyAre().forEach(line -> print("left as it is: " + line));
        manage();
    }

    /** The program's first channel or group was made as without the agent. */
    synchronized void off(String reason) {
        state = state.startsWith("on") ? state + "; not for another copy of Netty: " + reason : "off: " + reason;
        print("the program runs without it: " + reason);
        manage();
    }

    /** Not at the agent's start: the program may choose which server of JMX there is. */
    private void manage() {
        if (isManaged) {
            return;
        }
        isManaged = true;
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(this, new ObjectName("io.rdmaraw:type=Agent"));
        } catch (JMException | RuntimeException e) {
            print("it is not in JMX: " + e);
        }
    }

    @Override
    public String getCarried() {
        return options.described();
    }

    @Override
    public String getState() {
        return state;
    }

    @Override
    public int getRewrittenClasses() {
        return rewritten.get();
    }

    @Override
    public List<String> getClassesLeftAsTheyAre() {
        synchronized (left) {
            return List.copyOf(left);
        }
    }
}
