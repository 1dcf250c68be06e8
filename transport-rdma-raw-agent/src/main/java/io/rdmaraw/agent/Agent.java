package io.rdmaraw.agent;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.List;

/** The agent of this process: its options and its report. Loaded from the bootstrap class path. */
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
     * Starts to rewrite classes.
     *
     * @param text options of the agent, or null
     * @throws IllegalArgumentException if the options are wrong; the message is a sentence for the user
     */
    public static void start(String text, Instrumentation instrumentation, File jar) {
        AgentOptions options = AgentOptions.parse(text);
        List<NettyNames> nettyNames = options.nettyPackages().stream().map(NettyNames::new).toList();
        AgentReport report = new AgentReport(options);
        instance = new Agent(options, report, new TransportJars(jar));
        instrumentation.addTransformer(new CallerTransformer(nettyNames, report));
        report.started();
    }

    /** Returns the agent, or null before {@link #start}. */
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
