package io.rdmaraw.agent;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Reports to the user, both on the error stream and in JMX. The agent starts before the program's logging is available.
 * Thread-safe.
 */
final class AgentReport implements RdmaRawAgentMXBean {
    private static final String PREFIX = "rdma-raw agent: ";
    private static final int MAX_LISTED = 200;

    private final AgentOptions options;
    private final AtomicInteger rewritten = new AtomicInteger();
    private final List<String> notRewritten = new ArrayList<>();
    private volatile String state = "waits for Netty";
    private boolean isManaged;

    AgentReport(AgentOptions options) {
        this.options = options;
    }

    private static void print(String line) {
        System.err.println(PREFIX + line);
    }

    void started() {
        print(options.description());
    }

    void rewritten(String className) {
        rewritten.incrementAndGet();
    }

    /** Records a class that uses one of Netty's transports but could not be rewritten. */
    void notRewritten(String className, String reason) {
        String line = className + ": " + reason;
        synchronized (notRewritten) {
            if (notRewritten.size() >= MAX_LISTED) {
                return;
            }
            notRewritten.add(line);
        }
        if (state.startsWith("on")) {
            print("left as it is: " + line);
        }
    }

    /**
     * Records that a class requires Netty's own channels. Nothing is printed before the first channel has been created.
     */
    void refused(String reason) {
        if (state.startsWith("on")) {
            print("new channels are the kernel's from now on: " + reason);
        }
    }

    /** Records that the transport created the first channel or group of the program. */
    synchronized void enabled(String netty) {
        state = "on";
        print("on, with " + netty + "; " + rewritten + " classes rewritten so far, " + notRewritten.size()
                + " left as they are");
        getClassesLeftAsTheyAre().forEach(line -> print("left as it is: " + line));
        registerOnce();
    }

    /** Records that the first channel or group of the program was created without the transport. */
    synchronized void disabled(String reason) {
        state = state.startsWith("on") ? state + "; not for another copy of Netty: " + reason : "off: " + reason;
        print("the program runs without it: " + reason);
        registerOnce();
    }

    /**
     * Same as {@link #disabled}, called while a class is loaded. The agent must not start JMX then, because that loads
     * classes and takes locks.
     */
    synchronized void disabledWhileLoading(String reason) {
        state = "off: " + reason;
        print("the program runs without it: " + reason);
    }

    /** Registers the MBean. Not called at the agent's start, because the program may select the MBean server. */
    private void registerOnce() {
        if (isManaged) {
            return;
        }
        isManaged = true;
        try {
            register();
        } catch (LinkageError e) {
            print("it is not in JMX: the JDK's image lacks the module java.management");
        }
    }

    /**
     * Separate from its caller: without java.management, even the search for an exception handler of this method fails.
     */
    private void register() {
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(this, new ObjectName("io.rdmaraw:type=Agent"));
        } catch (JMException | RuntimeException e) {
            print("it is not in JMX: " + e);
        }
    }

    @Override
    public String getServedTraffic() {
        return options.description();
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
        synchronized (notRewritten) {
            return List.copyOf(notRewritten);
        }
    }
}
