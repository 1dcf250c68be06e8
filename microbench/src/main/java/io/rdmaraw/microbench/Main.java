package io.rdmaraw.microbench;

import io.rdmaraw.microbench.manual.ManCommand;
import io.rdmaraw.microbench.profile.ProfileCommand;
import io.rdmaraw.microbench.report.ReportCommand;
import io.rdmaraw.microbench.suite.BenchCommand;
import io.rdmaraw.tools.command.CommandLines;
import io.rdmaraw.tools.command.Versions;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The main class of the commands that measure the transport. The launcher {@code rdma-raw} starts it. */
@Command(name = "rdma-raw", mixinStandardHelpOptions = true, versionProvider = Versions.class,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {BenchCommand.class, ReportCommand.class, ProfileCommand.class, ManCommand.class},
        description = "Measures the transport, with what it compares to.")
public final class Main implements Runnable {
    @Spec
    private CommandSpec spec;

    private Main() {
    }

    public static void main(String[] args) {
        // The help is as wide as the terminal. If the output is not a terminal, picocli uses 80 columns.
        System.exit(commandLine().setUsageHelpAutoWidth(true).execute(args));
    }

    static CommandLine commandLine() {
        return CommandLines.of(new Main());
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "a command is missing");
    }
}
