package bank;

/**
 * Tellers move money between two accounts while an auditor adds up the balances.
 *
 * <p>Deposits are guarded by the account's own lock. Withdrawals and the audit were forgotten: money
 * gets lost. Making {@code withdraw} and {@code balance} synchronized repairs it.
 */
public final class Bank {
    private final Account checking = new Account("checking", 1_000);
    private final Account savings = new Account("savings", 1_000);

    public static void main(String[] arguments) throws InterruptedException {
        Bank bank = new Bank();
        Thread first = new Teller(bank.checking, bank.savings);
        Thread second = new Teller(bank.savings, bank.checking);
        first.start();
        second.start();
        System.out.println("meanwhile " + bank.total());
        first.join();
        second.join();
        System.out.println("in the end " + bank.total());
    }

    long total() {
        return checking.balance() + savings.balance();
    }
}

final class Account {
    private final String name;
    private long balance;

    Account(String name, long balance) {
        this.name = name;
        this.balance = balance;
    }

    synchronized void deposit(long amount) {
        balance += amount;
    }

    boolean withdraw(long amount) {
        if (balance < amount) {
            return false;
        }
        balance -= amount;
        return true;
    }

    long balance() {
        return balance;
    }

    @Override
    public String toString() {
        return name;
    }
}

final class Teller extends Thread {
    private final Account from;
    private final Account to;
    private int transfers;

    Teller(Account from, Account to) {
        this.from = from;
        this.to = to;
    }

    @Override
    public void run() {
        for (int i = 0; i < 1_000; i++) {
            if (from.withdraw(1)) {
                to.deposit(1);
                transfers++;
            }
        }
        System.out.println(transfers + " transfers from " + from + " to " + to);
    }
}
