package io.rdmaraw.agent;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.List;

/** The agent of this process: its options, and what it has to tell. On the bootstrap class path. */
public final class Agent {
    private static volatile Agent instance;

    private final AgentOptions options;
    private final AgentReport report;
    private final TransportJars jars;

    private Agent(AgentOptions options, AgentReport report, TransportJars jars) {
        this.options = options;
        this.report = report;
        this.jars = jars;
    }

    /**
     * Begins to rewrite classes.
     *
     * @param text the agent's options, or null
     * @throws IllegalArgumentException when they are wrong, with a sentence for the user
     */
    public static void start(String text, Instrumentation instrumentation, File jar) {
        AgentOptions options = AgentOptions.parse(text);
        List<NettyNames> nettys = options.nettyPackages().stream().map(NettyNames::new).toList();
        AgentReport report = new AgentReport(options);
        instance = new Agent(options, report, new TransportJars(jar));
        instrumentation.addTransformer(new CallerTransformer(nettys, report));
        report.started();
    }

    /** Returns the agent; null before {@link #start}. */
    static Agent instance() {
        return instance;
    }

    AgentOptions options() {
        return options;
    }

    AgentReport report() {
        return report;
    }

    TransportJars jars() {
        return jars;
    }
}
