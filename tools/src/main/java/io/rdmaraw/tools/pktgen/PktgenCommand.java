package io.rdmaraw.tools.pktgen;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw pktgen}. */
@Command(name = "pktgen", mixinStandardHelpOptions = true, synopsisSubcommandLabel = "(tx | rx)",
        subcommands = {TransmitCommand.class, ReceiveCommand.class},
        description = "Sends frames, or receives and counts them.")
public final class PktgenCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "which one: tx or rx");
    }
}
