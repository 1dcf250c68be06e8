package io.rdmaraw.tools;

import io.rdmaraw.tools.command.CommandLines;
import io.rdmaraw.tools.command.CompletionCommand;
import io.rdmaraw.tools.command.Versions;
import io.rdmaraw.tools.demo.DemoCommand;
import io.rdmaraw.tools.devinfo.DevinfoCommand;
import io.rdmaraw.tools.doctor.DoctorCommand;
import io.rdmaraw.tools.dump.DumpCommand;
import io.rdmaraw.tools.perf.BurstLatCommand;
import io.rdmaraw.tools.perf.BwCommand;
import io.rdmaraw.tools.perf.FlowRateCommand;
import io.rdmaraw.tools.perf.LatCommand;
import io.rdmaraw.tools.pktgen.PktgenCommand;
import io.rdmaraw.tools.top.AsyncWatchCommand;
import io.rdmaraw.tools.top.SsCommand;
import io.rdmaraw.tools.top.TopCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The main class of the project's tools, started by the launcher {@code rdma-raw}. */
@Command(name = "rdma-raw", mixinStandardHelpOptions = true, versionProvider = Versions.class,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {DemoCommand.class, DevinfoCommand.class, PktgenCommand.class, DoctorCommand.class,
                BwCommand.class, LatCommand.class, BurstLatCommand.class, FlowRateCommand.class, TopCommand.class,
                SsCommand.class, DumpCommand.class, AsyncWatchCommand.class, CompletionCommand.class},
        description = "Ethernet frames through Netty over raw-packet queue pairs.")
public final class Main implements Runnable {
    @Spec
    private CommandSpec spec;

    private Main() {
    }

    public static void main(String[] args) {
        // Help texts use the width of the terminal, or picocli's 80 columns without one.
        System.exit(commandLine().setUsageHelpAutoWidth(true).execute(args));
    }

    /** Returns the command line, for programs that inspect the commands. */
    public static CommandLine commandLine() {
        return CommandLines.of(new Main());
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "a command is missing");
    }
}
