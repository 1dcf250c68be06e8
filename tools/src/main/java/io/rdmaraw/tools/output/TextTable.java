package io.rdmaraw.tools.output;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A text table. A column is as wide as its longest cell; numbers are aligned to the right. If the table is too wide,
 * dispensable columns are omitted.
 */
public final class TextTable {
    private static final int GAP = 2;

    private final List<String[]> rows = new ArrayList<>();
    private final List<String> dispensable = new ArrayList<>();
    private final int columns;

    public TextTable(String... header) {
        columns = header.length;
        rows.add(header);
    }

    /**
     * Marks columns as dispensable.
     *
     * @param headings headings of the columns, in the order in which they are omitted
     */
    public TextTable dispensable(String... headings) {
        dispensable.addAll(List.of(headings));
        return this;
    }

    public TextTable row(String... cells) {
        if (cells.length != columns) {
            throw new IllegalArgumentException(cells.length + " cells in a table of " + columns + " columns");
        }
        rows.add(cells);
        return this;
    }

    public void print(PrintWriter out) {
        print(out, Integer.MAX_VALUE);
    }

    /** Prints the table and omits dispensable columns until it fits the width, if possible. */
    public void print(PrintWriter out, int widthChars) {
        int[] widths = new int[columns];
        for (String[] row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row[i].length());
            }
        }
        boolean[] shown = shown(widths, widthChars);
        for (String[] row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                if (shown[i]) {
                    String padding = " ".repeat(widths[i] - row[i].length());
                    boolean right = row == rows.getFirst() ? isNumeric(rows.getLast()[i]) : isNumeric(row[i]);
                    line.append(right ? padding + row[i] : row[i] + padding).append(" ".repeat(GAP));
                }
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }

    private boolean[] shown(int[] widths, int widthChars) {
        boolean[] shown = new boolean[columns];
        Arrays.fill(shown, true);
        long sum = Arrays.stream(widths).sum() + (long) GAP * (columns - 1);
        List<String> headings = List.of(rows.getFirst());
        for (String heading : dispensable) {
            if (sum <= widthChars) {
                break;
            }
            int column = headings.indexOf(heading);
            shown[column] = false;
            sum -= widths[column] + GAP;
        }
        return shown;
    }

    private static boolean isNumeric(String cell) {
        return cell.matches("-?[\\d,.]+[kMGT%]?|-");
    }
}
